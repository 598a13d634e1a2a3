// A secret that the server has just created and never shows again. Until it is copied or downloaded, a key, a link or a closed tab
// must not discard it without a question.

import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { guardLeaving } from '../address'
import { texts } from '../texts'
import { Copy, Dialog } from './form'
import { saveFile } from './save-file'

/** Secrets that are shown and not saved yet: their titles by text. */
const unsaved = signal<ReadonlyMap<string, string>>(new Map())

function forget(text: string): void {
  unsaved.value = new Map([...unsaved.value].filter(([each]) => each !== text))
}

interface SecretProps {
  title: string
  text: string
  /** The text after the title. */
  note?: string
  /** An additional button that saves the secret; it calls the function when done. */
  further?(onSaved: () => void): ComponentChildren
  /** How the secret is shown. Default: as its text. */
  children?: ComponentChildren
}

export function Secret({ title, text, note = texts.shownOnce, further, children }: SecretProps) {
  // Runs before the secret is visible, so that no key press can come first.
  useLayoutEffect(() => {
    unsaved.value = new Map([...unsaved.value, [text, title]])
    return () => forget(text)
  }, [text])
  return (
    <div class="secret">
      <p>
        <strong>{title}</strong> {note}
      </p>
      <p class="secret-text">
        {!children && <code>{text}</code>} <Copy text={text} onCopied={() => forget(text)} />{' '}
        <button type="button" onClick={() => download([[text, title]])}>
          {texts.download}
        </button>{' '}
        {further?.(() => forget(text))}
      </p>
      {children}
    </div>
  )
}

/** Saves secrets as a text file, each below its title. */
function download(secrets: readonly (readonly [text: string, title: string])[]): void {
  const lines = secrets.flatMap(([text, title]) => [title, text, ''])
  saveFile('secret.txt', lines.join('\n'), 'text/plain')
  for (const [text] of secrets) forget(text)
}

/** Asks before a page with an unsaved secret is left, and continues once that is answered. */
export function SecretGuard() {
  const [leave, setLeave] = useState<() => void>()
  const isNeeded = unsaved.value.size > 0
  useEffect(() => {
    const hold = (event: Event, goOn: () => void) => {
      if (unsaved.peek().size === 0) return
      event.preventDefault()
      event.stopPropagation()
      setLeave(() => goOn)
    }
    const click = (event: MouseEvent) => {
      const link = event.target instanceof Element && event.target.closest<HTMLElement>('a[href^="#"]')
      if (link && !link.closest('dialog')) hold(event, () => link.click())
    }
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return
      const closing = document.querySelector<HTMLElement>('[data-closes]')
      if (closing) hold(event, () => closing.click())
    }
    addEventListener('click', click, true)
    addEventListener('keydown', press, true)
    // Back and Forward, keys, the palette, tabs and signing out.
    guardLeaving((goOn) => {
      if (unsaved.peek().size === 0) return false
      setLeave(() => goOn)
      return true
    })
    return () => {
      guardLeaving(null)
      removeEventListener('click', click, true)
      removeEventListener('keydown', press, true)
    }
  }, [])
  useEffect(() => {
    if (!isNeeded) return
    const close = (event: BeforeUnloadEvent) => {
      // The listener briefly outlives what it guards.
      if (unsaved.peek().size > 0) event.preventDefault()
    }
    addEventListener('beforeunload', close)
    return () => removeEventListener('beforeunload', close)
  }, [isNeeded])
  if (!leave) return null
  const goOn = () => {
    setLeave(undefined)
    unsaved.value = new Map()
    leave()
  }
  return (
    <Dialog title={texts.unsavedSecret} close={() => setLeave(undefined)} closing={texts.stay}>
      <p>{texts.unsavedSecretMeans}</p>
      <p>
        <button
          type="button"
          class="primary"
          onClick={() => {
            download([...unsaved.value])
            goOn()
          }}
        >
          {texts.downloadAndLeave}
        </button>{' '}
        <button type="button" class="danger" onClick={goOn}>
          {texts.leaveWithoutSecret}
        </button>
      </p>
    </Dialog>
  )
}
