// How many requests failed in the time range, by the party at fault, with links to them.

import { hrefOf, periodQuery } from '../address'
import { call, type Reply } from '../api'
import { useQuery } from '../query'
import { texts } from '../texts'

/** The key or the account whose requests are counted. Absent: all. */
interface Owner {
  key?: string | undefined
  account?: string | undefined
}

export function Failures({ of, owner }: { of: Reply<'getUsage'>['total']; owner: Owner }) {
  const { failed_by_vendor: vendor, failed_by_gateway: gateway, failed_by_caller: caller } = of
  if (vendor + gateway + caller === 0) return null
  return (
    <p class="sum-line">
      <a href={hrefOf('requests', { ...owner, status: 'failed' })}>
        {texts.usage.failed(vendor, gateway, caller)}
      </a>
    </p>
  )
}

/** The failures of a key or a customer. */
export function FailuresOf({ owner }: { owner: Owner }) {
  const query = { ...owner, by: 'day' as const, ...periodQuery() }
  const load = useQuery(['failures', query], (signal) => call('getUsage', { query, signal }))
  return load.data ? <Failures of={load.data.total} owner={owner} /> : null
}
