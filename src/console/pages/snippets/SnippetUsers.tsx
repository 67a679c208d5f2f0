import type { SnippetUser } from "../../../domain/Snippet.ts"
import { t } from "../../../languages/Language.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"

/** The templates that a snippet is used in. `base`: the path of the organization. */
export const TemplatesList = ({ base, templates }: {
  readonly base: string
  readonly templates: ReadonlyArray<SnippetUser>
}) => (
  <ul>
    {templates.map(({ copy_ids, name, served, template_id }) => (
      <li>
        <a href={`${base}/templates/${encodeURIComponent(template_id)}`} target="_top" dir="auto">{name}</a>{" "}
        <Badge kind={served ? "good" : "plain"}>{served ? t`served` : t`not served`}</Badge>{" "}
        <span class="muted">{copy_ids.join(", ")}</span>
      </li>
    ))}
  </ul>
)

/** Where a snippet or an image is used. `proposals` are ids of changes that wait, and `drafts` templates with drafts. */
export const SnippetUsers = ({ base, drafts = [], proposals = [], snippet: { snippets, templates } }: {
  readonly base: string
  readonly drafts?: ReadonlyArray<{ readonly template_id: string; readonly name: string }>
  readonly proposals?: ReadonlyArray<number>
  readonly snippet: { readonly templates: ReadonlyArray<SnippetUser>; readonly snippets: ReadonlyArray<string> }
}) => (
  <Card stacked title={t`Where it is used`}>
    {templates.length + snippets.length + proposals.length + drafts.length === 0 && (
      <p class="muted">{t`Nothing uses it yet.`}</p>
    )}
    {templates.length > 0 && <TemplatesList base={base} templates={templates} />}
    {snippets.length > 0 && (
      <p>
        {t`Snippets:`} {snippets.map((id) => (
          <>
            <a href={`${base}/snippets/${id}`}>{id}</a>
            {" "}
          </>
        ))}
      </p>
    )}
    {proposals.length > 0 && (
      <p>
        {t`Changes that wait for approval:`} {proposals.map((id) => (
          <>
            <a href={`${base}/reviews/${id}`}>{id}</a>
            {" "}
          </>
        ))}
      </p>
    )}
    {drafts.length > 0 && (
      <p>
        {t`Drafts of:`} {drafts.map(({ name, template_id }) => (
          <>
            <a href={`${base}/templates/${encodeURIComponent(template_id)}`} dir="auto">{name}</a>
            {" "}
          </>
        ))}
      </p>
    )}
  </Card>
)
