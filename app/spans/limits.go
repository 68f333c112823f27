package spans

// What a span may bring into the database (REQ-5, REQ-6). All sizes are bytes, and text ends at a character.
const (
	MaxNameBytes          = nameBytes
	MaxStatusMessageBytes = statusMessageBytes
	MaxServiceNameBytes   = serviceNameBytes
	MaxToolBytes          = toolBytes
	MaxCategoryBytes      = categoryBytes

	MaxValueBytes      = 1024            // an attribute's value; compact JSON where it is not a string
	MaxToolIOBytes     = 4096            // a value of the tool input and output group
	MaxAttributes      = 32              // attributes of a span, TruncatedKey among them
	MaxAttributesBytes = attributesBytes // all of them, as the database writes them: octet_length(attributes::text)
	MaxNesting         = 32              // levels of arrays and maps in a value; a deeper one is stored as text (decisions.md 23)

	// Margin is how far beyond its cap a text is kept until it has been masked, so that a credential is seen
	// whole although the cap halves it (decisions.md 22).
	Margin = 512
)

// TruncatedKey is the attribute, always true, that marks a span of which something was cut or dropped
// (REQ-6, decisions.md 24). The pipeline alone writes it.
const TruncatedKey = "switchboard.truncated"
