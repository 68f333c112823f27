package maskingprocessor

// Config has no keys: there is no pipeline in which a credential should be stored.
type Config struct{}
