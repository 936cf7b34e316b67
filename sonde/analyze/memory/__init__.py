"""Memory over time: the peak, who holds it, whether it grows."""
