"""The programs that `sonde demo` profiles: each whole in one file, with one mistake to find."""
