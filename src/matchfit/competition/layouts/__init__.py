"""Layouts without a train table: labels in COCO json, in class folders, in file names, in files of lines."""
