-- Share of failed deliveries, of those that ended in this and the previous hour, from which on members are notified.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS delivery_failure_threshold float8 NOT NULL DEFAULT 0.1;
