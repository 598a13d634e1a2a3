// Sign-in: by the token of an admin or the key of a caller. It must never keep what is typed.

import { signIn } from './api'
import { Field, Form } from './parts/form'
import { SandboxBadge } from './parts/sandbox-badge'
import { texts } from './texts'

export function SignIn() {
  const words = texts.signIn
  return (
    <main class="sign-in">
      <h1>
        {words.title} <SandboxBadge />
      </h1>
      <p class="quiet">{words.intro}</p>
      <Form action={words.action} submit={({ token = '' }) => signIn({ token })}>
        <Field name="token" title={words.token} type="password" isRequired hint={words.hint} />
      </Form>
      <p class="quiet">{words.link}</p>
      <p>
        <code>{words.command}</code>
      </p>
    </main>
  )
}
