// Written anew when the site is built (docs/site/hook.py).
window.wireproofPages = [];
