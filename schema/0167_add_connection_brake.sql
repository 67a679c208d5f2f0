-- Set while the connection is paused because the platform refused too many messages: reason and since.
ALTER TABLE connections ADD COLUMN IF NOT EXISTS refusing json;
-- The last answers of the platform, from which its next owner goes on to decide on that; null while none was a refusal.
ALTER TABLE dispatch_lanes ADD COLUMN IF NOT EXISTS brake json;
