-- When the first attempt failed that counts; the retry horizon begins then. Null while none has failed.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS first_failed_at timestamptz;
