// Forms: fields with labels, an error next to the field that the server names, and a button that cannot be pressed twice. A form
// sends only the values that its fields show.

import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api'
import { type Offer, useAccountNames } from '../customer/account-names'
import { plainAmount, typedAmount } from '../language'
import { texts } from '../texts'

type Values = Readonly<Record<string, string>>

interface FormProps {
  /** The label of the button. */
  action: string
  isDanger?: boolean
  /** Whether the button is less prominent, for an answer that changes nothing. */
  isQuiet?: boolean
  /** Whether its fields are cleared after sending, because the form is sent only once. */
  isOnce?: boolean
  /** Buttons next to the submit button. */
  aside?: ComponentChildren
  /** Sends the values under the names of the fields. Rejects with an ApiError. */
  submit(values: Values): Promise<unknown>
  children?: ComponentChildren
  onDone?(): void
}

export function Form(props: FormProps) {
  const { action, isDanger = false, isQuiet = false, isOnce = false, aside, submit, children, onDone } = props
  const [error, setError] = useState<string>()
  const [isSaved, setSaved] = useState(false)
  const [isSending, setSending] = useState(false)
  const send = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const values = Object.fromEntries(
      [...new FormData(form)].map(([name, value]) => {
        const text = String(value).trim()
        return [name, isAmount(name) ? plainAmount(text) : text]
      }),
    )
    setSending(true)
    setSaved(false)
    try {
      await submit(values)
      setError(undefined)
      setSaved(true)
      if (isOnce) form.reset()
      onDone?.()
    } catch (fault) {
      const found = ApiError.from(fault)
      const field = found.param === null ? null : form.elements.namedItem(found.param)
      setError(inWordsOf(field, found))
      if (field instanceof HTMLElement) field.focus()
    } finally {
      setSending(false)
    }
  }
  return (
    <form class="form" onSubmit={send} onInput={() => setSaved(false)}>
      {children}
      {error && (
        <p class="failed" role="alert">
          {error}
        </p>
      )}
      <div class="actions">
        <button
          type="submit"
          class={isDanger ? 'danger' : isQuiet ? '' : 'primary'}
          disabled={isSending}
          aria-busy={isSending}
        >
          {action}
        </button>
        {aside}
        {isSaved && action === texts.save && (
          <span role="status" class="good">
            {texts.saved}
          </span>
        )}
      </div>
    </form>
  )
}

/** Whether a field is for an amount, which is typed with the separators of the language. */
function isAmount(name: string): boolean {
  return name.endsWith('_usd')
}

/** The error message, with the title of the field instead of its API name. */
function inWordsOf(field: unknown, { message, param }: ApiError): string {
  if (!(field instanceof HTMLElement) || param === null) return message
  const title = field.closest('label')?.querySelector('span')?.textContent
  return title ? message.replaceAll(`'${param}'`, `“${title}”`) : message
}

interface FieldProps {
  name: string
  title: string
  /** A sentence below the field. */
  hint?: string
  value?: string | number | null
  type?: 'text' | 'number' | 'datetime-local' | 'password'
  isRequired?: boolean
  /** Options to choose from; the first means no choice. */
  options?: readonly (readonly [value: string, title: string])[]
  isLong?: boolean
  /** Names that are offered where text is typed. */
  offer?: Offer
}

export function Field({
  name,
  title,
  hint,
  value,
  type = 'text',
  isRequired = false,
  options,
  isLong = false,
  offer,
}: FieldProps) {
  const own = { name, required: isRequired, 'aria-describedby': hint ? `hint-${name}` : undefined }
  return (
    <div class="field">
      <label>
        <span>{title}</span>
        {options ? (
          <select {...own}>
            {options.map(([word, text]) => (
              <option value={word} key={word} selected={word === String(value ?? '')}>
                {text}
              </option>
            ))}
          </select>
        ) : isLong ? (
          <textarea {...own} rows={3} defaultValue={String(value ?? '')} />
        ) : (
          <input
            {...({
              ...own,
              type,
              defaultValue: isAmount(name) ? typedAmount(String(value ?? '')) : String(value ?? ''),
              autocomplete: 'off',
              spellcheck: false,
              ...(type === 'number' && { min: 1, step: 1, inputMode: 'numeric' }),
              ...offer?.input,
            } as InputHTMLAttributes<HTMLInputElement>)}
          />
        )}
      </label>
      {offer?.names}
      {hint && (
        <small id={`hint-${name}`} class="quiet">
          {hint}
        </small>
      )}
    </div>
  )
}

/** A field for an account, whose names are offered while one is typed. */
export function AccountField(props: Omit<FieldProps, 'name'>) {
  return <Field name="account" {...props} offer={useAccountNames()} />
}

interface DialogProps {
  title: string
  close(): void
  /** The label of the button that closes it; null if the content has one. */
  closing?: string | null
  children: ComponentChildren
}

/** A question that waits for an answer, above the page. */
export function Dialog({ title, close, closing = texts.cancel, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => before instanceof HTMLElement && before.focus()
  }, [])
  return (
    <dialog ref={dialog} aria-label={title} onClose={close}>
      <h2>{title}</h2>
      {children}
      {closing !== null && (
        <button type="button" class="plain dialog-close" onClick={close}>
          {closing}
        </button>
      )}
    </dialog>
  )
}

interface DangerProps {
  /** The label of the button, and the title of the question. */
  action: string
  title: string
  /** The consequence in figures. */
  children: ComponentChildren
  /** A name that must be typed, for irreversible actions. */
  nameToType?: string
  act(): Promise<unknown>
  onDone?(): void
}

/** A button for actions that cost money or cannot be undone: it states what will happen, and asks. */
export function Danger({ action, title, children, nameToType, act, onDone }: DangerProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="danger" onClick={() => setOpen(true)}>
        {action}
      </button>
      {isOpen && (
        <Dialog title={title} close={() => setOpen(false)} closing={null}>
          <div class="consequence">{children}</div>
          <Form
            // The first button only asks; this one acts.
            action={action.replace(/…$/, '')}
            isDanger
            aside={
              <button type="button" class="plain" onClick={() => setOpen(false)}>
                {texts.goBack}
              </button>
            }
            submit={async ({ name }) => {
              if (nameToType !== undefined && name !== nameToType)
                throw new ApiError(texts.typeTheName(nameToType), 0, null, 'name')
              await act()
            }}
            onDone={() => {
              setOpen(false)
              onDone?.()
            }}
          >
            {nameToType !== undefined && (
              <Field name="name" title={texts.typeTheName(nameToType)} isRequired />
            )}
          </Form>
        </Dialog>
      )}
    </>
  )
}

interface ActionProps {
  title: string
  act(): Promise<unknown>
  onDone?(): void
}

/** A button for reversible or repeatable actions. Its error is shown next to it. */
export function Action({ title, act, onDone }: ActionProps) {
  const [error, setError] = useState<ApiError>()
  const [isRunning, setRunning] = useState(false)
  const run = async () => {
    setRunning(true)
    try {
      await act()
      setError(undefined)
      onDone?.()
    } catch (fault) {
      setError(ApiError.from(fault))
    } finally {
      setRunning(false)
    }
  }
  return (
    <>
      <button type="button" onClick={run} disabled={isRunning} aria-busy={isRunning}>
        {title}
      </button>
      {error && (
        <span class="failed" role="alert">
          {error.message}
        </span>
      )}
    </>
  )
}

interface CopyProps {
  text: string
  title?: string
  onCopied?(): void
}

/**
 * Copies a text. Pages that were loaded without TLS from another machine have no clipboard, and a browser may refuse it: then the text
 * is selected and copied there.
 */
async function copyText(text: string): Promise<void> {
  const isCopied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  if (isCopied) return
  const area = document.createElement('textarea')
  area.value = text
  // Inside an open dialog, because nothing outside it can be selected.
  ;(document.querySelector('dialog[open]') ?? document.body).append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

/** A text to copy, such as a secret that is shown once. */
export function Copy({ text, title = texts.copy, onCopied }: CopyProps) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await copyText(text)
    onCopied?.()
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <button type="button" onClick={copy}>
      {isCopied ? texts.copied : title}
    </button>
  )
}
