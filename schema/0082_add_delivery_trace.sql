-- The trace of the request that asked for the message, as a W3C `traceparent`, which its attempts belong to; NULL unless
-- it is one that is sent to a collector.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS traceparent text;
