package main

import (
	"slices"
	"time"
)

// pairs is how often the two sides of a comparison are measured, in turn. A figure is the median of the
// pairs' ratios.
const pairs = 7

// inTurn measures both sides seven times, each of them first in every other pair.
func inTurn[T any](ours, baseline func() (T, error)) (of, against [pairs]T, err error) {
	for i := range pairs {
		sides := []func() error{
			func() (err error) { of[i], err = ours(); return err },
			func() (err error) { against[i], err = baseline(); return err },
		}
		if i%2 == 1 {
			slices.Reverse(sides)
		}
		for _, side := range sides {
			if err := side(); err != nil {
				return of, against, err
			}
		}
	}
	return of, against, nil
}

// medianRatio is the median over the pairs of value(a) / value(b).
func medianRatio[T any](a, b [pairs]T, value func(T) float64) float64 {
	ratios := make([]float64, pairs)
	for i := range ratios {
		ratios[i] = value(a[i]) / value(b[i])
	}
	return median(ratios)
}

func medianOf[T any](of [pairs]T, value func(T) float64) float64 {
	values := make([]float64, pairs)
	for i := range values {
		values[i] = value(of[i])
	}
	return median(values)
}

// median of an odd number of values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// p95 is the latency that 95 of 100 operations kept.
func p95(latencies []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(latencies))
	return sorted[(len(sorted)*95+99)/100-1]
}
