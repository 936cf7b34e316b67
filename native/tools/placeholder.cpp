namespace sonde {}
