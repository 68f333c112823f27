package bindingprocessor

// Config has no keys: the rules of binding are the same everywhere.
type Config struct{}
