"""Where events come from: a stream in Redis, in memory, or a recorded file; and the server we start ourselves."""
