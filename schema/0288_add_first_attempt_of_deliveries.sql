-- When the first attempt began that may have reached a server: the Date of the e-mail, equal in every attempt. Null: no attempt has
-- begun. Written when a message is claimed, and cleared when it returns to the queue before any attempt began.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS first_attempt_at timestamptz;
