"""What a rule means, and why it says what it says of a run, for a person to read. Pure, like the engine below it."""
