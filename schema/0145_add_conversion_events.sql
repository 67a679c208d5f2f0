-- Names of events that count as conversions, beside the known names: of an organization, and of a template.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS conversion_events text[] NOT NULL DEFAULT '{}';
ALTER TABLE templates ADD COLUMN IF NOT EXISTS conversion_events text[] NOT NULL DEFAULT '{}';
-- Until now an event of any name was a conversion if it carried a tracking id. Organizations that have sent custom events
-- may depend on it and have not declared their names yet, so that they go on accepting any name.
UPDATE organizations o SET conversion_events = '{*}', revision = o.revision + 1
WHERE EXISTS (SELECT FROM events e WHERE e.org_slug = o.slug AND e.source = 'events')
  OR EXISTS (SELECT FROM inbox i WHERE i.org_slug = o.slug AND i.source = 'events');
