-- Requests a key may make per `rate_per` ('second' or 'minute'). NULL: the installation's default.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS rate_limit integer;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS rate_per text;
