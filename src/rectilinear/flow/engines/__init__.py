"""Ways of moving along the flow; `run.Engine` says what each can do."""
