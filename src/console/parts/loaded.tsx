// The three states of requested data: loading, loaded, or failed with advice.

import { type ComponentChildren, Fragment } from 'preact'
import type { ApiError } from '../api'
import type { Load } from '../query'
import { texts } from '../texts'

export function Loaded<Data>({
  of,
  children,
}: {
  of: Load<Data>
  children: (data: Data) => ComponentChildren
}) {
  const { data, error, isLoading, reload } = of
  return (
    <Fragment>
      {error && <Failed error={error} retry={reload} />}
      {data !== undefined ? <div aria-busy={isLoading}>{children(data)}</div> : !error && <Waiting />}
    </Fragment>
  )
}

export function Failed({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="failed" role="alert">
      <p>{error.message}</p>
      {error.code && <p class="quiet">{error.code}</p>}
      {retry && (
        <button type="button" onClick={retry}>
          {texts.tryAgain}
        </button>
      )}
    </div>
  )
}

/** Placeholder lines for the data. They are not visible if the answer arrives at once. */
export function Waiting() {
  return (
    <div class="loading" role="status" aria-label={texts.loading}>
      <i />
      <i />
      <i />
    </div>
  )
}

/** A list without rows, and the next step. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}
