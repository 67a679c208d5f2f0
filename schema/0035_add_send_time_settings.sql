-- When an organization may send: how far from now at most, in hours; quiet hours {"from", "to"} as HH:MM and days of the week
-- on the recipient's clocks (null: none, every day).
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS delay_horizon_hours double precision NOT NULL DEFAULT 24;
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS quiet_hours json;
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS allowed_days json;
