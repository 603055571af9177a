"""What two exact distributions tell apart: privacy losses and every quantity made of them."""
