// Data that is asked of the server. `useLoaded` asks, and asks again when what it depends on changes; `<Loaded>` shows the
// three states: nothing there yet, the data, and the error with what to do. While it asks again, the old data stay, so
// that nothing jumps.

import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api'
import { texts } from '../texts'

export interface Load<Data> {
  data: Data | undefined
  error: ApiError | undefined
  isLoading: boolean
  reload(): void
}

/** Asks for data. `needs` are the values that the question depends on. */
export function useLoaded<Data>(
  ask: (signal: AbortSignal) => Promise<Data>,
  needs: readonly unknown[],
): Load<Data> {
  const [state, setState] = useState<Omit<Load<Data>, 'reload'>>({
    data: undefined,
    error: undefined,
    isLoading: true,
  })
  const [turn, setTurn] = useState(0)
  const latest = useRef(ask)
  latest.current = ask
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    setState((before) => ({ ...before, isLoading: true }))
    latest.current(signal).then(
      (data) => !signal.aborted && setState({ data, error: undefined, isLoading: false }),
      (error: unknown) =>
        !signal.aborted &&
        setState((before) => ({ data: before.data, error: ApiError.from(error), isLoading: false })),
    )
    return () => controller.abort()
  }, [...needs, turn])
  return { ...state, reload: () => setTurn((before) => before + 1) }
}

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

/** Lines in the place of the data. They are not seen when the answer comes at once. */
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
