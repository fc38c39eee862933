mod classify;
mod decide;
mod explain;
mod show;
