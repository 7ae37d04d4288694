/** Whoever connects by stdio, or with the operator's own token: the person whose server it is. */
export const LOCAL_PRINCIPAL = 'local';
