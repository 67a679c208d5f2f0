-- Length of `vars` as JSON, so that a lane claims no more than it can hold. NULL for messages queued by an older release.
-- Unit: characters.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS size integer;
