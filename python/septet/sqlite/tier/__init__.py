"""The tier over a store on this machine."""
