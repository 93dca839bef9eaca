"""What happens where sigma' jumps: who meets a kink, whether it is crossed or held, and when a hold ends."""
