"""Batch APIs of embedding services: submitting, polling, collecting."""
