"""From prepared items to batches: the decode-once cache, augmentation, loaders."""
