"""How a smooth field is stepped. Knows no ReLU."""
