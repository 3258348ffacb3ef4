"""What a person or a program looks at: renderings of what the archive holds."""
