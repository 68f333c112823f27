package main

import "github.com/switchboard-otel/switchboard/app/garbage"

// The builder writes main, and has no place for this in it.
func init() { garbage.Tune() }
