//! What is masked unless somebody says otherwise: what could give a verdict or speak in the user's name.

use std::path::{Path, PathBuf};

/// In the home directory: keys, passwords, cookies, and sockets of programs that act for the user.
const IN_HOME: &[&str] = &[
    ".Xauthority",
    ".aws",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/checkrein",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/tea",
    ".docker",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/checkrein",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pki",
    ".pypirc",
    ".ssh",
    ".vault-token",
    ".yarnrc.yml",
];

/// Sockets by which services do what they are told, often as root. `/var/run` is `/run` nearly everywhere.
const SOCKETS: &[&str] = &[
    "/run",
    "/var/lib/incus/unix.socket",
    "/var/lib/lxd/unix.socket",
    "/var/run",
    "/var/snap/lxd/common/lxd/unix.socket",
];

/// Below what is masked, and needed to find programs and the names of hosts.
const READABLE: &[&str] = &[
    "/run/NetworkManager/no-stub-resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/booted-system",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/resolvconf/resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
];

/// The paths to mask: the store's directory with all that lies beside the store, the directories of settings,
/// and what is known to hold credentials or sockets. `others` are the directories of settings and, if it is
/// set, `XDG_RUNTIME_DIR`. Not all of them have to be there.
pub fn default_masks(home: &Path, store_directory: &Path, others: &[PathBuf]) -> Vec<PathBuf> {
    let mut masks = vec![store_directory.to_owned()];
    masks.extend(others.iter().cloned());
    masks.extend(IN_HOME.iter().map(|name| home.join(name)));
    masks.extend(SOCKETS.iter().map(PathBuf::from));
    masks
}

/// What is to be readable in spite of the default masks. Not all of it has to be there.
pub fn default_readable() -> Vec<PathBuf> {
    READABLE.iter().map(PathBuf::from).collect()
}
