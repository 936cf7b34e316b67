"""torch in C++ programs: an observer that is built for the program's own libtorch (`sonde run --shapes`)."""
