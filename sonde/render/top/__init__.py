"""`sonde top`: a running job in the terminal."""
