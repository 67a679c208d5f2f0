-- Whether Deliver and the dispatcher refuse suppressed addresses, and how many soft bounces in a row suppress one (null:
-- no number of them does).
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS suppression boolean NOT NULL DEFAULT true;
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS soft_bounce_limit integer DEFAULT 5;
-- Whether messages of a template, such as receipts, also go to addresses that are suppressed by an unsubscribe alone.
ALTER TABLE templates ADD COLUMN IF NOT EXISTS ignore_unsubscribes boolean NOT NULL DEFAULT false;
