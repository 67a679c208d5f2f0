-- Tags of templates, and the e-mail address of the member who looks after each.
ALTER TABLE templates ADD COLUMN IF NOT EXISTS tags text[] NOT NULL DEFAULT '{}';
ALTER TABLE templates ADD COLUMN IF NOT EXISTS owner text;
