import { layouts } from "../../../src/templates/Layouts.ts"

const document = (body: string, head = "") => `<mjml>\n  ${head}\n  <mj-body>\n${body}\n  </mj-body>\n</mjml>\n`

/** Messages in the forms that people write them, by name. Every message compiles. */
export const messages: ReadonlyMap<string, string> = new Map([
  ...layouts.map(({ body, id }) => [id, body] as const),
  [
    "wrapper and hero",
    document(`    <mj-wrapper background-color="#eeeeee">
      <mj-section><mj-column><mj-text>One</mj-text></mj-column></mj-section>
      <mj-hero mode="fluid-height"><mj-text>Two</mj-text><mj-button href='https://a.example/?a=1&b=2'>Go</mj-button></mj-hero>
    </mj-wrapper>
    <mj-section><mj-column><mj-text>Three</mj-text></mj-column></mj-section>`),
  ],
  [
    "elements without a form",
    document(`    <mj-section>
      <mj-column>
        <mj-social mode="horizontal">
          <mj-social-element name="facebook" href="https://a.example/">Share</mj-social-element>
        </mj-social>
        <mj-table><tr><td>A table</td></tr></mj-table>
        <mj-raw><div>Raw <b>HTML</b></div></mj-raw>
        <mj-image src="https://a.example/1.png" alt="Shoes"></mj-image>
      </mj-column>
    </mj-section>
    <mj-section><mj-column><mj-navbar><mj-navbar-link href="/a">A</mj-navbar-link></mj-navbar></mj-column></mj-section>`),
  ],
  [
    "comments and Windows lines",
    document(`    <!-- Header: <mj-section> -->
    <mj-section><mj-column><mj-text>First</mj-text></mj-column></mj-section>

    <!-- Two -->
    <!-- columns -->
    <mj-section>
      <mj-column width="50%"><mj-text>Left</mj-text><mj-divider /></mj-column>
      <!-- right -->
      <mj-column width="50%"></mj-column>
    </mj-section>
    <!-- end -->`).replaceAll("\n", "\r\n"),
  ],
  [
    "branches",
    document(`    {%- if tier == "gold" -%}
    <mj-section><mj-column><mj-text>Gold {% if first_name %}for {{ first_name }}{% endif %}</mj-text></mj-column></mj-section>
    {% elsif tier == "<silver>" %}
    <mj-section><mj-column><mj-text>Silver</mj-text></mj-column></mj-section>
    {% else %}
    <mj-section><mj-column><mj-text>All</mj-text></mj-column></mj-section>
    {%- endif -%}
    {% assign year = 2026 %}
    {% render 'footer', year: year %}
    <mj-section><mj-column>{% case plan %}{% when "a" %}<mj-text>A</mj-text>{% else %}<mj-text>B</mj-text>{% endcase %}</mj-column></mj-section>`),
  ],
  [
    "one line",
    '<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{ a | default: ">" }}</mj-text><mj-spacer height=20px /></mj-column></mj-section></mj-body></mjml>',
  ],
  [
    "text of Liquid",
    document(`    {% comment %}A note about <b>this{% if %}{% endcomment %}
    <mj-section><mj-column>
      <mj-text>{% raw %}{{ not_liquid }} {% if %}{% endraw %}</mj-text>
      <mj-button href="{{ url | default: "https://a.example/?q=a>b" }}">{{ label }}</mj-button>
    </mj-column></mj-section>`),
  ],
])
