import { t } from "../../languages/Language.ts"
import { assets } from "../Assets.ts"

/** Whether the page renews itself, and the switch for it; needs the script of the page, without which it stays away. */
export const Live = () => (
  <>
    <span class="small muted" id="live-state" role="status"></span>
    <button type="button" class="button compact" id="live-switch" hidden>{t`Pause`}</button>
  </>
)

/** The script that renews elements with `data-live`. For pages whose view is `live`. */
export const LiveScript = () => <script type="module" src={assets.live}></script>

/** The script that makes charts with data interactive. */
export const ChartScript = () => <script type="module" src={assets.charts}></script>
