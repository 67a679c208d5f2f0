-- Who approves changes to live templates: nobody (none), another editor or admin (editor), or another admin (admin).
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS template_approval text NOT NULL DEFAULT 'none';
