"""Readers of the published raw formats: each checks what it reads and gives a plain record."""
