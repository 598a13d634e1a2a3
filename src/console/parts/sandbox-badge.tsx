// Says that vendors are simulated, if they are. It must be on every page.

import { isSandbox } from '../api'
import { texts } from '../texts'

export function SandboxBadge() {
  if (!isSandbox.value) return null
  return (
    <span class="badge" title={texts.sandboxMeans}>
      {texts.sandbox}
    </span>
  )
}
