-- Bytes of webhook bodies that the organization may store in a day; null: as WEBHOOK_DAILY_BYTES says.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS webhook_daily_bytes bigint;
