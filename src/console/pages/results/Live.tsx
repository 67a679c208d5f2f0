/** @jsxImportSource preact */

/** Whether the page renews itself, and the switch for it; needs the script of the page, without which it stays away. */
export const Live = () => (
  <>
    <span class="small muted" id="live-state" role="status"></span>
    <button type="button" class="button compact" id="live-switch" hidden>Pause</button>
  </>
)
