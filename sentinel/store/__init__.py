"""Where state lives: in Redis, or in memory."""
