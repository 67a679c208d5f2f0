-- Domains whose links in rendered html carry the tracking id.
ALTER TABLE templates ADD COLUMN IF NOT EXISTS link_domains text[] NOT NULL DEFAULT '{}';
