"""Running the wheels where this machine is not: on aarch64 under qemu, and with musl as the C library."""
