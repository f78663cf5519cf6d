(* The derivatives that Derivatives.v computes are the real ones.

   An expression is differentiated in one entry of an input, or of a matrix that stands for a point, while all others stay.
   `varied` moves that entry along a line; `derivative_right` says that the value of an expression has along that line, at 0,
   the derivative that `derivative` writes.  It asks for what `differentiable` computes from syntax: that roots, logarithms,
   steps, reciprocals and inverses are taken where they have derivatives, which a condition says that the theorem prints. *)
From Coq Require Import ZArith NArith Lia.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Calculus Inverses Tables.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

(* ---------------------------------------------------------------------------------------- sums and products of entries *)

Section Diff.
Variables (R : realType) (size_of : nat -> nat) (scalar : nat -> R) (moving : R -> nat -> seq nat -> R) (still : nat -> seq nat -> R).
Hypothesis at_start : forall k, moving 0 k =1 still k.
Variables (T : table) (by_ : nat) (at_ : seq index) (ats : seq nat) (s : nat -> seq index -> expr).

Lemma diff_real e r : valid size_of r -> map r at_ = ats -> bound_apart at_ e -> typed T by_ at_ e ->
  (forall k, k \in numbers e -> forall vs r, valid size_of r -> map r at_ = ats -> fits T by_ at_ k vs ->
    slope_at (fun t => moving t k (map r vs)) 0 (meaning size_of scalar still r (s k vs))) ->
  slope_at (fun t => meaning size_of scalar (moving t) r e) 0 (meaning size_of scalar still r (diff s e)).
Proof.
have start r' a : meaning size_of scalar (moving 0) r' a = meaning size_of scalar still r' a.
  by apply: meaning_entries => t _; exact: at_start.
have zero r' : meaning size_of scalar still r' (Int 0) = 0 by rewrite /meaning /= rational0.
elim: e r => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] r rV rA.
- by move=> _ _ _; rewrite zero; exact: slope_of_constant.
- by move=> _ _ _; rewrite zero; exact: slope_of_constant.
- by move=> _ _ _; rewrite zero; exact: slope_of_constant.
- by move=> _ Y H; apply: H; rewrite ?inE.
- case/andP => Ba Bb /andP[Ya Yb] H; apply: slope_add; [apply: IHa => // k kn|apply: IHb => // k kn];
  by apply: H; rewrite mem_cat kn ?orbT.
- case/andP => Ba Bb /andP[Ya Yb] H.
  have Ha : slope_at (fun t => meaning size_of scalar (moving t) r a) 0 (meaning size_of scalar still r (diff s a)).
    by apply: IHa => // k kn; apply: H; rewrite mem_cat kn.
  have Hb : slope_at (fun t => meaning size_of scalar (moving t) r b) 0 (meaning size_of scalar still r (diff s b)).
    by apply: IHb => // k kn; apply: H; rewrite mem_cat kn orbT.
  have A0 := start r a; have B0 := start r b; have := slope_mul Ha Hb; cbv beta; rewrite B0 A0; exact.
case/andP => va Ba Ya H; apply: slope_sum => x xn; apply: IHa => //; first exact: update_valid.
by rewrite -rA; apply/eq_in_map => w wat; rewrite update_other //; apply: contraNneq va => <-.
Qed.
End Diff.

Section Worlds.
Variable R : realType.
Variable size_of : nat -> nat.
Hypothesis sizes_positive : forall s, (0 < size_of s)%N.
Variable scalar : nat -> R.
Hypothesis scalars_positive : forall n, 0 < scalar n.
Variable arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R.
Variables (T : table) (input : nat -> seq nat -> R).
Hypothesis T_formed : well_formed T.
Local Notation val entry r e := (meaning size_of scalar entry r e).
Local Notation ok := (valid size_of).
Local Notation bounds n := (lengths size_of (slots n)).

(* entries that are given, in place of what the input or the table says *)
Definition given_entries := nat -> option (seq nat -> R).
Fixpoint entries_at (T' : table) (over : given_entries) (j : nat) (xs : seq nat) : R := match T' with
  | [::] => if over j is Some X then X xs else input j xs
  | (k, n) :: T'' => if over j is Some X then X xs
    else if j == k then node_value size_of scalar arbitrary (entries_at T'' over) n xs else entries_at T'' over j xs end.
Local Notation world over := (entries_at T over).

Lemma entries_at_given T' over k X xs : over k = Some X -> entries_at T' over k xs = X xs.
Proof. by case: T' => [|[j n] T'] /= ->. Qed.
Lemma entries_at_none T' : entries_at T' (fun=> None) = entries_of size_of scalar arbitrary T' input.
Proof.
elim: T' => [|[k n] T' IH]; apply/funext => j; apply/funext => xs //=.
by rewrite IH.
Qed.
Lemma entries_at_input over k xs : find T k = None -> over k = None -> world over k xs = input k xs.
Proof. by elim: T => [|[j n] T' IH] /= F O; rewrite O //; move: F; rewrite eq_sym; case: ifP => // _ F; exact: IH. Qed.
Lemma entries_at_find over k n : find T k = Some n -> over k = None ->
  forall xs, world over k xs = node_value size_of scalar arbitrary (world over) n xs.
Proof.
move: T_formed; elim: T => [|[j m] T' IH] //= /and4P[cl fresh self wf].
have other t : t != j -> entries_at ((j, m) :: T') over t =1 entries_at T' over t.
  by move=> /negPf tj xs /=; rewrite tj; case E: (over t) => [X|] //; rewrite (entries_at_given _ _ E).
have same p xs : j \notin numbers (argument p) -> node_value size_of scalar arbitrary (entries_at T' over) p xs
    = node_value size_of scalar arbitrary (entries_at ((j, m) :: T') over) p xs.
  move=> jp; rewrite /node_value; congr apply; apply: cut_eq => ys _; apply: meaning_entries => t tp ys'.
  by rewrite other //; apply: contraNneq jp => <-.
case: eqP => [<- [<-] O xs|/eqP jk F O xs]; first by rewrite O eqxx same.
rewrite O eq_sym (negPf jk) (IH wf F O) same //.
elim: (T') F fresh {IH wf other same} => [|[i p] T'' IH] //=.
by case: eqP => [_ [<-] /andP[/andP[]]|_ Ek /andP[_ /(IH Ek)]].
Qed.
Lemma closed_find k n : find T k = Some n -> closed n.
Proof. by move/(find_value size_of scalar arbitrary input T_formed) => []. Qed.

(* a square matrix has bounds of rows, and the same of columns *)
Lemma square_bounds i n : square i n -> let ns := map size_of (take i (sizes (slots n))) in bounds n = ns ++ ns /\ size ns = i.
Proof.
case/andP => /eqP sz /eqP sq ns; split; last by rewrite size_map size_takel // /sizes size_map sz leq_addr.
by rewrite /ns {2}sq -map_cat cat_take_drop /lengths /sizes -map_comp.
Qed.
(* the value of an argument along indices *)
Definition at_slots (entry : nat -> seq nat -> R) (n : node) (ys : seq nat) : R :=
  val entry (assigned (slots n) ys nowhere) (argument n).
Lemma at_slotsE entry n r : closed n -> at_slots entry n (map r (slots n)) = val entry r (argument n).
Proof. by move=> /andP[/allP cl un]; apply: meaning_free => w /cl wn; exact: assigned_in. Qed.
Lemma sizes_within n vs r : ok r -> sizes vs = sizes (slots n) -> within (bounds n) (map r vs).
Proof. by move=> rV E; rewrite -(lengths_sizes size_of E); exact: valid_within. Qed.

(* ------------------------------------------------------------------------------------------------ one entry moves *)
Variables (given : seq condition) (outer : seq nat).

(* nothing but the variables outside is given, and these are inputs or points *)
Definition within_scope (over : given_entries) := forall k, over k <> None -> k \in outer.
Definition condition_in (entry : nat -> seq nat -> R) (c : condition) : Prop := match c with
  | IsPositive k => if find T k is Some n then forall r, ok r -> 0 < val entry r (argument n) else True
  | IsNonzero k => if find T k is Some n then forall r, ok r -> val entry r (argument n) != 0 else True
  | IsInvertible k => if find T k is Some n then
      exists N, is_inverse (size (slots n))./2 (bounds n) (cut (bounds n) (at_slots entry n)) N else True end.
Lemma condition_in_input c : condition_in (world (fun=> None)) c = condition_holds size_of scalar arbitrary T input c.
Proof. by rewrite entries_at_none. Qed.

Variables (over : given_entries) (by_ : nat) (at_ : seq index) (ats : seq nat).
Hypothesis over_outer : within_scope over.
Hypothesis outer_variables : all (is_variable T) (by_ :: outer).
Hypothesis conditions_hold : forall c, List.In c given -> condition_in (world over) c.

Definition varied (t : R) : given_entries := fun j =>
  if j == by_ then Some (fun xs => world over by_ xs + t * (xs == ats)%:R) else over j.
Local Notation E t := (world (varied t)).
Local Notation en := (world over).

Lemma variedE t xs : E t by_ xs = en by_ xs + t * (xs == ats)%:R.
Proof. by rewrite (@entries_at_given _ _ _ (fun ys => en by_ ys + t * (ys == ats)%:R)) // /varied eqxx. Qed.
Lemma varied_scope t k : varied t k <> None -> k \in by_ :: outer.
Proof. by rewrite inE /varied; case: eqP => // _ /over_outer ->. Qed.
Lemma varied_other t k : k != by_ -> varied t k = over k. Proof. by rewrite /varied => /negPf ->. Qed.
Lemma E_given t k X xs : k != by_ -> over k = Some X -> E t k xs = en k xs.
Proof. by move=> kb O; rewrite !(@entries_at_given _ _ _ X) // varied_other. Qed.
Lemma E_input t k xs : k != by_ -> find T k = None -> E t k xs = en k xs.
Proof.
move=> kb F; case O: (over k) => [X|]; first exact: E_given O.
by rewrite !entries_at_input // varied_other.
Qed.
Lemma E_find t k n xs : k != by_ -> find T k = Some n -> over k = None ->
  E t k xs = node_value size_of scalar arbitrary (E t) n xs.
Proof. by move=> kb F O; apply: entries_at_find => //; rewrite varied_other. Qed.
Lemma node_value_eq entry entry' n xs : (forall k, k \in numbers (argument n) -> entry k =1 entry' k) ->
  node_value size_of scalar arbitrary entry n xs = node_value size_of scalar arbitrary entry' n xs.
Proof. by move=> H; rewrite /node_value; congr apply; apply: cut_eq => ys _; exact: meaning_entries. Qed.
Lemma E0 k : E 0 k =1 en k.
Proof.
elim/(table_ind T_formed): k => [k F|k n F IH] xs; have [->|/eqP kb] := k =P by_; try by rewrite variedE mul0r addr0.
  exact: E_input.
case O: (over k) => [X|]; first exact: E_given O.
by rewrite (E_find _ _ kb F O) (entries_at_find F O); exact: node_value_eq.
Qed.
(* what does not depend on the entry does not move *)
Lemma E_still t k : depends T by_ k = false -> E t k =1 en k.
Proof.
elim/(table_ind T_formed): k => [k F|k n F IH] D xs;
  have kb : k != by_ by apply/eqP => kE; move: D; rewrite kE; case: (T) => [|[? ?] ?] /=; rewrite eqxx.
  exact: E_input.
case O: (over k) => [X|]; first exact: E_given O.
rewrite (E_find _ _ kb F O) (entries_at_find F O); apply: node_value_eq => j jn; apply: IH => //.
by move: D; rewrite (depends_eq T_formed F kb) => /negbT/hasPn/(_ _ jn)/negPf.
Qed.

(* positive arguments are positive in every world in which the conditions hold *)
Lemma positive_entry_in k vs r : positive_entry T k -> ok r -> 0 < val en r (Entry k vs).
Proof.
have found T' : positive_entry T' k -> exists2 n, find T' k = Some n &
    match function n with Exp | Softmax _ => true | _ => false end.
  by elim: T' => [|[j n] T'' IH] //=; case: eqP => [_ h|_ /IH //]; exists n => //; case: (function n) h.
move=> /found [n F] h rV; have O : over k = None.
  case O: (over k) => [X|] //; have : k \in outer by apply: over_outer; rewrite O.
  case/andP: outer_variables => _ /allP V /V; rewrite /is_variable F.
  by case: (function n) h.
rewrite /meaning /= (entries_at_find F O) /node_value; case: (function n) h => // [|m] _; first exact: expR_gt0.
rewrite /= /softmax divr_gt0 ?expR_gt0 // total_positive //; last by move=> xs; exact: expR_gt0.
by rewrite lengths_drop (lengths_positive sizes_positive).
Qed.
Lemma has_in c : has given c -> condition_in en c.
Proof.
move=> h; suff: exists2 d, List.In d given & condition_eq c d.
  by case=> d /conditions_hold H; case: c d H {h} => k [] l // H /eqP ->.
elim: given h => [|d cs IH] //= /orP[E|/IH [d' I E]]; first by exists d; [left|].
by exists d'; [right|].
Qed.
Lemma positive_in k n r : positive T given k -> find T k = Some n -> ok r -> 0 < val en r (argument n).
Proof.
rewrite /positive => /orP[/has_in|]; first by rewrite /= => H F; move: H; rewrite F; exact.
move=> P F; rewrite F in P; move=> rV; apply: (positive_expr_gt0 sizes_positive scalars_positive) P rV => j vs r'.
exact: positive_entry_in.
Qed.
Lemma nonzero_in k n r : nonzero T given k -> find T k = Some n -> ok r -> val en r (argument n) != 0.
Proof.
rewrite /nonzero => /orP[/has_in|P F rV]; first by rewrite /= => H F; move: H; rewrite F; exact.
by rewrite gt_eqF // (positive_in P F rV).
Qed.

(* -------------------------------------------------------------------------------------------------- names of indices *)

Lemma below_and_above (a m : N) : N.lt a m -> N.le m a -> False. Proof. by lia. Qed.
Lemma names_of_one (a m : N) i : N.le m a /\ N.lt a (N.add m (N.of_nat i)) ->
  N.le m a /\ N.lt a (N.add m (N.of_nat (i + i))).
Proof. by rewrite -plusE Nat2N.inj_add; lia. Qed.
Lemma names_of_two (a m : N) i : N.le (N.add m (N.of_nat i)) a /\ N.lt a (N.add (N.add m (N.of_nat i)) (N.of_nat i)) ->
  N.le m a /\ N.lt a (N.add m (N.of_nat (i + i))).
Proof. by rewrite -plusE Nat2N.inj_add; lia. Qed.
Lemma below_above k vs : (forall v, v \in vs -> N.lt v.1 (above vs)) -> N.le (above vs) k -> forall v, v \in vs -> N.lt v.1 k.
Proof. by move=> H le v /H lt; apply: N.lt_le_trans le. Qed.
Lemma fixed_spaced k : spaced k (fixed k).
Proof. by move=> v; rewrite /fixed; case: N.ltb_spec0 => lt; [left | right]. Qed.
Lemma fixed_below k v : N.lt v.1 k -> fixed k v = v.
Proof. by rewrite /fixed => /N.ltb_lt ->. Qed.
Lemma fixed_size k v : (fixed k v).2 = v.2. Proof. by rewrite /fixed; case: ifP. Qed.
Lemma look_spaced bs ws k : (forall w, w \in ws -> N.lt w.1 k) -> spaced k (lookup bs ws (fixed k)).
Proof.
elim: bs ws => [|b bs IH] [|w ws] H v /=; try exact: fixed_spaced.
case: eqP => [_|_]; first by left; apply: H; rewrite inE eqxx.
by apply: IH => u uw; apply: H; rewrite inE uw orbT.
Qed.
Lemma look_valid bs ws k r : sizes bs = sizes ws -> ok r -> ok (r \o lookup bs ws (fixed k)).
Proof.
move=> SZ rV v; have -> : v.2 = (lookup bs ws (fixed k) v).2; last exact: rV.
elim: bs ws SZ => [|b bs IH] [|w ws] //=; rewrite ?fixed_size //.
by case=> bw SZ; case: eqP => [->|_] //; exact: IH.
Qed.
Lemma look_map bs ws k (r : environment) : uniq bs -> sizes bs = sizes ws ->
  map (r \o lookup bs ws (fixed k)) bs = map r ws.
Proof.
elim: bs ws => [|b bs IH] [|w ws] //= /andP[bn un] [_ SZ]; rewrite /comp eqxx; congr cons.
rewrite -(IH ws un SZ); apply/eq_in_map => v vb /=.
by case: eqP => // vE; rewrite -vE vb in bn.
Qed.
Lemma look_other bs ws k v : v \notin bs -> N.lt v.1 k -> lookup bs ws (fixed k) v = v.
Proof.
move=> + lt; elim: bs ws => [|b bs IH] [|w ws] //=; rewrite ?fixed_below //.
by rewrite inE negb_or => /andP[/negPf -> vb]; exact: IH.
Qed.
Lemma free_every e v : v \in free e -> v \in every_index e.
Proof.
elim: e => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|w a IHa] //=.
- by rewrite !mem_cat => /orP[/IHa ->|/IHb ->] //; rewrite orbT.
- by rewrite !mem_cat => /orP[/IHa ->|/IHb ->] //; rewrite orbT.
by rewrite mem_filter inE => /andP[_ /IHa ->]; rewrite orbT.
Qed.
Lemma place_fixed entry r k e : (forall v, v \in free e -> N.lt v.1 k) ->
  val entry r (place (fixed k) k e) = val entry r e.
Proof.
move=> H; rewrite /meaning place_value; last exact: fixed_spaced.
by apply: meaning_free => v /H lt /=; rewrite fixed_below.
Qed.
Lemma place_apart f k e : (forall v, v \in at_ -> N.lt v.1 k) -> bound_apart at_ (place f k e).
Proof.
move=> H; elim: e f => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|w a IHa] f //=; rewrite ?IHa ?IHb //= andbT.
by apply/negP => /H; rewrite /moved /=; lia.
Qed.
Lemma place_typed f k e : (forall v, (f v).2 = v.2) -> typed T by_ at_ (place f k e) = typed T by_ at_ e.
Proof.
elim: e f => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|w a IHa] f H //=; rewrite ?IHa ?IHb //.
  rewrite /fits size_map /sizes -map_comp; case: ifP => // _; case: (find T t) => // n; congr (_ == _).
  exact: eq_map.
by move=> v; rewrite /set1; case: eqP => [->|].
Qed.
Lemma fresh_from k vs : [/\ sizes (named_from k vs) = sizes vs, size (named_from k vs) = size vs, uniq (named_from k vs)
  & forall v, v \in named_from k vs -> N.le k v.1 /\ N.lt v.1 (N.add k (N.of_nat (size vs)))].
Proof.
elim: vs k => [|v vs IH] k; first by split.
rewrite -[named_from k (v :: vs)]/((k, v.2) :: named_from (N.succ k) vs) -[size (v :: vs)]/(size vs).+1 Nat2N.inj_succ.
have [a b c d] := IH (N.succ k); split.
- by rewrite -[LHS]/(v.2 :: sizes (named_from (N.succ k) vs)) a.
- by rewrite -[LHS]/(size (named_from (N.succ k) vs)).+1 b.
- by rewrite cons_uniq c andbT; apply/negP => /d [le _]; move: le; rewrite [fst _]/=; lia.
move=> w; rewrite inE => /orP[/eqP ->|/d [l1 l2]]; last by split; lia.
by rewrite -[(k, v.2).1]/k; split; lia.
Qed.

(* ------------------------------------------------------------------------------------- the derivative of an argument *)

Variable r0 : environment.
Hypotheses (r0_ok : ok r0) (r0_at : map r0 at_ = ats).
Local Notation slope_of_entry := (slope T by_ at_ T).
Local Notation tame k := (forall vs r, ok r -> map r at_ = ats -> fits T by_ at_ k vs ->
  slope_at (fun t => E t k (map r vs)) 0 (val en r (slope_of_entry k vs))).

Lemma diff_right e r : ok r -> map r at_ = ats -> bound_apart at_ e -> typed T by_ at_ e ->
  (forall k, k \in numbers e -> tame k) ->
  slope_at (fun t => val (E t) r e) 0 (val en r (diff slope_of_entry e)).
Proof. exact (@diff_real R size_of scalar (fun t => E t) en E0 T by_ at_ ats slope_of_entry e r). Qed.

Lemma neg_val r e : val en r (Neg e) = - val en r e. Proof. exact: neg_value. Qed.
Lemma variable_tame : tame by_.
Proof.
move=> vs r rV rA; rewrite /fits eqxx => /eqP sz; rewrite slope_variable deltas_value // rA.
by apply: (slope_same (f := fun t => en by_ (map r vs) + t * (map r vs == ats)%:R)) (slope_line _ _ _) => t; rewrite variedE.
Qed.
Section Node.
Variables (k : nat) (n : node).
Hypotheses (F : find T k = Some n) (kb : k != by_).
Hypotheses (Y : typed T by_ at_ (argument n)) (apart_ : disjoint at_ (slots n)).
Hypothesis arguments_tame : forall t, t \in numbers (argument n) -> tame t.
Let C : closed n := closed_find F.
Let un : uniq (slots n). Proof. by case/andP: C. Qed.

Definition moves_by (ys : seq nat) : R := 'D_1 (fun t => at_slots (E t) n ys : R) (0 : R).
Lemma argument_tame vs r : ok r -> map r at_ = ats ->
  slope_at (fun t => val (E t) r (argument n)) 0 (val en r (argument_slope T by_ at_ n vs)).
Proof.
move=> rV rA; set m := base_name at_ n vs.
have lt v : v \in at_ ++ vs ++ slots n ++ every_index (argument n) -> N.lt v.1 m by exact: above_in.
apply: (slope_same (f := fun t => val (E t) r (place (fixed m) m (argument n)))) => [t|].
  apply: place_fixed => v vf; apply: lt; rewrite !mem_cat.
  by case/andP: C => /allP /(_ _ vf) ->; rewrite !orbT.
apply: diff_right => //.
- by apply: place_apart => v va; apply: lt; rewrite mem_cat va.
- by rewrite place_typed // => v; exact: fixed_size.
by move=> t; rewrite numbers_place; exact: arguments_tame.
Qed.
Lemma argument_moves vs r : ok r -> map r at_ = ats ->
  val en r (argument_slope T by_ at_ n vs) = moves_by (map r (slots n)).
Proof.
move=> rV rA; have H := argument_tame vs rV rA.
suff H' : slope_at (fun t => at_slots (E t) n (map r (slots n))) 0 (val en r (argument_slope T by_ at_ n vs)).
  exact (slope_value H').
apply: slope_same H => t; exact (esym (at_slotsE (E t) r C)).
Qed.
Lemma slots_move ys : within (bounds n) ys -> slope_at (fun t => at_slots (E t) n ys) 0 (moves_by ys).
Proof.
move=> wy; pose r := assigned (slots n) ys r0.
have rV : ok r by exact: assigned_valid.
have rA : map r at_ = ats.
  by rewrite -r0_at; apply/eq_in_map => v va; apply: assigned_notin; move/allP: apart_; exact.
have ry : map r (slots n) = ys by apply: assigned_map => //; rewrite (within_size wy) size_lengths.
have H := argument_tame [::] rV rA; have D := argument_moves [::] rV rA; rewrite ry in D; rewrite D in H.
by apply: slope_same H => t; rewrite -(at_slotsE (E t) r C) ry.
Qed.
Lemma relocated_value vs ws m r : ok r -> map r at_ = ats -> sizes ws = sizes (slots n) ->
  (forall v, v \in at_ -> N.lt v.1 m) -> (forall v, v \in ws -> N.lt v.1 m) ->
  val en r (relocated n ws m (argument_slope T by_ at_ n vs)) = moves_by (map r ws).
Proof.
move=> rV rA SZ am wm; rewrite /relocated /meaning place_value; last exact: look_spaced.
rewrite -/(meaning _ _ _ _ _) argument_moves ?look_map //; first exact: look_valid.
rewrite -rA; apply/eq_in_map => v va /=; rewrite look_other //; last exact: am.
by move/allP: apart_; exact.
Qed.
Lemma not_given j : j \notin outer -> over j = None.
Proof. by move=> jo; case O: (over j) => [X|] //; case/negP: jo; apply: over_outer; rewrite O. Qed.
Lemma beside_value h j xs : beside T h n = Some j -> j \notin outer ->
  en j xs = apply arbitrary h (bounds n) (cut (bounds n) (at_slots en n)) xs.
Proof.
move=> /(beside_find T_formed) [p [Fj fh sl ar]] jo.
by rewrite (entries_at_find Fj (not_given jo)) /node_value fh sl /at_slots ar.
Qed.
Lemma moving_value t xs : k \notin outer ->
  E t k xs = apply arbitrary (function n) (bounds n) (cut (bounds n) (at_slots (E t) n)) xs.
Proof. by move=> ko; rewrite (E_find t xs kb F (not_given ko)). Qed.
Lemma still_value xs : k \notin outer ->
  en k xs = apply arbitrary (function n) (bounds n) (cut (bounds n) (at_slots en n)) xs.
Proof. by move=> ko; rewrite (entries_at_find F (not_given ko)). Qed.
Lemma at_slots0 : at_slots (E 0) n = at_slots en n.
Proof. by apply/funext => ys; apply: meaning_entries => t _; exact: E0. Qed.
Lemma moves_not ys : depends T by_ k = false -> moves_by ys = 0.
Proof.
move=> D; apply: (esym (slope_value _)); apply: slope_constant => t.
have st u : at_slots (E u) n ys = at_slots en n ys.
  apply: meaning_entries => j jn; apply: E_still; move: D; rewrite (depends_eq T_formed F kb).
  by move/negbT/hasPn/(_ _ jn)/negPf.
by rewrite (st t) (st 0).
Qed.

Section At.
Variables (vs : seq index) (r : environment).
Hypotheses (rV : ok r) (rA : map r at_ = ats) (fit : sizes vs = sizes (slots n)).
Let d := argument_slope T by_ at_ n vs.
Variable m : N.
Hypotheses (am : forall v, v \in at_ -> N.lt v.1 m) (vm : forall v, v \in vs -> N.lt v.1 m).
Let wx : within (bounds n) (map r vs). Proof. exact: sizes_within. Qed.

Lemma here_value : val en r (relocated n vs m d) = moves_by (map r vs).
Proof. exact: relocated_value. Qed.
Lemma here_moves : slope_at (fun t => cut (bounds n) (at_slots (E t) n) (map r vs)) 0 (moves_by (map r vs)).
Proof. by apply: slope_same (slots_move wx) => t; rewrite /cut wx. Qed.
(* indices of the sizes of the last ones of vs, summed over *)
Lemma last_moves i :
  let front := take (size vs - i) vs in let ls := named_from m (drop (size vs - i) vs) in
  val en r (Sums ls (Mul (Entry k (front ++ ls)) (relocated n (front ++ ls) (N.add m (N.of_nat (size ls))) d)))
  = total (drop (size (bounds n) - i) (bounds n))
      (fun ys => en k (take (size (bounds n) - i) (map r vs) ++ ys) * moves_by (take (size (bounds n) - i) (map r vs) ++ ys)).
Proof.
move=> front ls; have [ls_sizes ls_size ls_uniq ls_names] := fresh_from m (drop (size vs - i) vs).
have sz : size vs = size (slots n) by have := congr1 size fit; rewrite /sizes !size_map.
have sb : (size (bounds n) = size vs)%N by rewrite size_lengths sz.
rewrite sums_total (_ : lengths size_of ls = drop (size (bounds n) - i) (bounds n)); last first.
  rewrite (lengths_sizes size_of ls_sizes) sb lengths_drop; apply: lengths_sizes.
  by rewrite /sizes !map_drop -/(sizes vs) fit.
apply: total_eq => ys wy.
have sy : size ys = size ls.
  by rewrite (within_size wy) ls_size !size_drop sb.
pose r1 := assigned ls ys r.
have outside v : N.lt v.1 m -> r1 v = r v.
  by move=> lt; apply: assigned_notin; apply/negP => /ls_names [le _]; exact: (below_and_above lt le).
have r1V : ok r1.
  apply: assigned_valid => //; rewrite (lengths_sizes size_of ls_sizes).
  have -> : lengths size_of (drop (size vs - i) vs) = drop (size (bounds n) - i) (bounds n); last exact: wy.
  rewrite sb lengths_drop; apply: lengths_sizes.
  by rewrite /sizes !map_drop -/(sizes vs) fit.
have r1A : map r1 at_ = ats by rewrite -rA; apply/eq_in_map => v /am/outside.
have r1L : map r1 (front ++ ls) = take (size (bounds n) - i) (map r vs) ++ ys.
  rewrite map_cat sb -map_take; congr (_ ++ _); last exact: assigned_map.
  by apply/eq_in_map => v /mem_take/vm/outside.
rewrite -[LHS]/(en k (map r1 (front ++ ls)) * val en r1 (relocated n (front ++ ls) (N.add m (N.of_nat (size ls))) d)).
rewrite relocated_value // ?r1L //.
- by rewrite /sizes map_cat -/(sizes ls) ls_sizes -map_cat cat_take_drop -/(sizes vs) fit.
- by move=> v /am; exact: N.lt_lt_add_r.
move=> v; rewrite mem_cat => /orP[/mem_take/vm|/ls_names [_]]; first exact: N.lt_lt_add_r.
by rewrite ls_size.
Qed.
Lemma inverse_moves i : size (slots n) = (i + i)%N ->
  let one := named_from m (take i vs) in let two := named_from (N.add m (N.of_nat i)) (drop i vs) in
  val en r (Sums (one ++ two) (Mul (Entry k (take i vs ++ one))
    (Mul (relocated n (one ++ two) (N.add m (N.of_nat (i + i))) d) (Entry k (two ++ drop i vs)))))
  = total (bounds n) (fun us => en k (take i (map r vs) ++ take i us) * (moves_by us * en k (drop i us ++ drop i (map r vs)))).
Proof.
move=> si one two; have [one_sizes one_size one_uniq one_names] := fresh_from m (take i vs).
have [two_sizes two_size two_uniq two_names] := fresh_from (N.add m (N.of_nat i)) (drop i vs).
have sz : size vs = (i + i)%N by have := congr1 size fit; rewrite /sizes !size_map si.
have s1 : size (take i vs) = i by rewrite size_takel // sz leq_addr.
have s2 : size (drop i vs) = i by rewrite size_drop sz addnK.
have both : sizes (one ++ two) = sizes (slots n).
  by rewrite /sizes map_cat -/(sizes one) -/(sizes two) one_sizes two_sizes -map_cat cat_take_drop -/(sizes vs) fit.
have both_uniq : uniq (one ++ two).
  rewrite cat_uniq one_uniq two_uniq andbT; apply/hasPn => v /two_names [le _]; apply/negP => /one_names [_ lt].
  by rewrite s1 in lt; exact: (below_and_above lt le).
have both_names v : v \in one ++ two -> N.le m v.1 /\ N.lt v.1 (N.add m (N.of_nat (i + i))).
  rewrite mem_cat => /orP[/one_names|/two_names]; rewrite ?s1 ?s2; [exact: names_of_one | exact: names_of_two].
rewrite sums_total (lengths_sizes size_of both); apply: total_eq => us wu.
have su : size us = size (one ++ two) by rewrite (within_size wu) size_lengths size_cat one_size two_size s1 s2 si.
pose r1 := assigned (one ++ two) us r.
have outside v : N.lt v.1 m -> r1 v = r v.
  by move=> lt; apply: assigned_notin; apply/negP => /both_names [le _]; exact: (below_and_above lt le).
have r1V : ok r1 by apply: assigned_valid => //; rewrite (lengths_sizes size_of both).
have r1A : map r1 at_ = ats by rewrite -rA; apply/eq_in_map => v /am/outside.
have r1L : map r1 (one ++ two) = us by exact: assigned_map.
have r1o : map r1 one = take i us by rewrite -r1L map_cat take_size_cat // size_map one_size.
have r1t : map r1 two = drop i us by rewrite -r1L map_cat drop_size_cat // size_map one_size.
have r1r : map r1 (take i vs) = take i (map r vs) by rewrite -map_take; apply/eq_in_map => v /mem_take/vm/outside.
have r1c : map r1 (drop i vs) = drop i (map r vs) by rewrite -map_drop; apply/eq_in_map => v /mem_drop/vm/outside.
rewrite -[LHS]/(en k (map r1 (take i vs ++ one)) * (val en r1 (relocated n (one ++ two) (N.add m (N.of_nat (i + i))) d)
  * en k (map r1 (two ++ drop i vs)))).
rewrite !map_cat r1o r1t r1r r1c relocated_value // ?r1L //; first by move=> v /am; exact: N.lt_lt_add_r.
by move=> v /both_names [].
Qed.
End At.

Lemma node_tame : one_matrix n -> ~~ depends T by_ k || (k \notin outer) && smooth_head T given outer k n -> tame k.
Proof.
move=> square smooth vs r rV rA; rewrite /fits (negPf kb) F => /eqP fit.
have wx := sizes_within rV fit.
rewrite (slope_eq T_formed at_ vs F kb).
set d := argument_slope T by_ at_ n vs; set m := above (at_ ++ vs ++ slots n ++ every_index d).
have am v : v \in at_ -> N.lt v.1 m by move=> va; apply: above_in; rewrite mem_cat va.
have vm v : v \in vs -> N.lt v.1 m by move=> va; apply: above_in; rewrite !mem_cat va orbT.
have here := here_value rV rA fit am vm; have go := here_moves rV fit.
have last := last_moves rV rA fit am vm; have inv := inverse_moves rV rA fit am vm.
rewrite -/d in here last inv.
have zero : val en r (Int 0) = 0 by rewrite /meaning /= rational0.
have here' p : val en r (relocated n vs (N.add m p) d) = moves_by (map r vs).
  by apply: (here_value rV rA fit) => v vin; apply: N.lt_lt_add_r; [exact: am | exact: vm].
have softmax_slope mv i : function n = Softmax i -> val en r (slope_of T at_ k n mv d vs) = en k (map r vs) *
    (moves_by (map r vs) - total (drop (size (bounds n) - i) (bounds n))
      (fun ys => en k (take (size (bounds n) - i) (map r vs) ++ ys) * moves_by (take (size (bounds n) - i) (map r vs) ++ ys))).
  by move=> S; rewrite /slope_of S -last -(here' (N.of_nat (size (named_from m (drop (size vs - i) vs))))) -neg_val.
case D: (depends T by_ k) smooth; last first.
  move=> _; have z ys : moves_by ys = 0 by exact: moves_not.
  have tz ns (g : seq nat -> R) : (forall ys, g ys = 0) -> total ns g = 0.
    by move=> g0; elim: ns g g0 => [|j ns IH] g g0 //=; rewrite big1 // => x _; exact: IH.
  suff -> : val en r (slope_of T at_ k n false d vs) = 0.
    by apply: slope_constant => t; rewrite !E_still.
  case S: (function n) => [|||q|i|i|i||i].
  - by rewrite /slope_of S -/m -[LHS]/(en k (map r vs) * val en r (relocated n vs m d)) here z mulr0.
  - by rewrite /slope_of S.
  - by rewrite /slope_of S.
  - by rewrite /slope_of S -/m; case: ifP => _; rewrite ?zero // here z.
  - by rewrite (softmax_slope false i S) z tz ?subrr ?mulr0 // => ys; rewrite z mulr0.
  - have si : size (slots n) = (i + i)%N by move: square; rewrite /one_matrix S => /eqP.
    rewrite /slope_of S -/m neg_val; rewrite (inv i si) tz ?oppr0 // => ys.
    by rewrite z mul0r mulr0.
  - by rewrite /slope_of S.
  - by rewrite /slope_of S.
  by rewrite /slope_of S.
case/andP => ko; rewrite /smooth_head.
have moving t : E t k (map r vs) = apply arbitrary (function n) (bounds n) (cut (bounds n) (at_slots (E t) n)) (map r vs).
  exact: moving_value.
have still ys : en k ys = apply arbitrary (function n) (bounds n) (cut (bounds n) (at_slots en n)) ys by exact: still_value.
have e0 := at_slots0.
pose r1 := assigned (slots n) (map r vs) nowhere.
have r1V : ok r1 by apply: assigned_valid => //; exact: nowhere_valid.
have arg0 : cut (bounds n) (at_slots en n) (map r vs) = val en r1 (argument n) by rewrite /cut wx.
have arg0' : cut (bounds n) (at_slots (E 0) n) (map r vs) = val en r1 (argument n) by rewrite e0.
case S: (function n) moving still => [|||q|i|i|i||i] moving still.
- move=> _; rewrite /slope_of S -/m -[val en r _]/(en k (map r vs) * val en r (relocated n vs m d)) here still.
  apply: (slope_same (fun t => esym (moving t))); have := slope_exp go; rewrite arg0' /= arg0; exact.
- rewrite /has_beside; case B: (beside _ _ _) => [j|//] /andP[jo P].
  rewrite /slope_of S -/m B -[val en r _]/(en j (map r vs) * val en r (relocated n vs m d)) here (beside_value _ B jo).
  apply: (slope_same (fun t => esym (moving t))).
  have p0 : 0 < cut (bounds n) (at_slots (E 0) n) (map r vs) by rewrite arg0'; exact: positive_in P F r1V.
  have := slope_log p0 go; rewrite arg0' /= arg0 /raised /= expr1; exact.
- move=> P; rewrite /slope_of S zero; apply: (slope_same (fun t => esym (moving t))).
  have n0 : cut (bounds n) (at_slots (E 0) n) (map r vs) != 0 by rewrite arg0'; exact: nonzero_in P F r1V.
  exact: slope_step n0 go.
- case Q: (q == one_power) => /=.
    move=> _; rewrite /slope_of S -/m -[(1%Z, xH)]/one_power Q here.
    apply: slope_same go => t; rewrite moving /= (eqP Q).
    by rewrite raised_one.
  rewrite /has_beside; case B: (beside _ _ _) => [j|//] /andP[jo P].
  rewrite /slope_of S -/m -[(1%Z, xH)]/one_power Q B.
  rewrite -[val en r _]/(rational R q * (en j (map r vs) * val en r (relocated n vs m d))) here (beside_value _ B jo).
  apply: (slope_same (fun t => esym (moving t))).
  have W : raised_where q (cut (bounds n) (at_slots (E 0) n) (map r vs)).
    rewrite arg0' /raised_where; case: ifP P => _; last by move=> P; exact: positive_in P F r1V.
    by case: ifP => //= _ P; exact: nonzero_in P F r1V.
  have := slope_raised W go; rewrite arg0' /= arg0; exact.
- move=> li; rewrite (softmax_slope true i S).
  have lb : (i <= size (bounds n))%N by rewrite size_lengths.
  have := slope_softmax lb (lengths_positive sizes_positive _) wx (fun ys wy => slots_move wy).
  rewrite e0 still; move=> H; apply: (slope_same (fun t => esym (moving t))); apply: (slope_as H).
  by congr (_ * (_ - _)); apply: total_ext => ys; rewrite still.
- case/andP => /has_in; rewrite [condition_in _ _]/= F => invertible sq; have [bE si] := square_bounds sq.
  have sz : size (slots n) = (i + i)%N by case/andP: sq => /eqP.
  rewrite sz addnn doubleK -e0 in invertible.
  rewrite /slope_of S -/m neg_val (inv i sz); apply: (slope_same (fun t => esym (moving t))).
  have := @slope_inverse R (map size_of (take i (sizes (slots n)))) 0 (fun t => at_slots (E t) n) moves_by.
  rewrite -bE si => H; apply: (slope_as (H slots_move _ invertible wx)).
  by rewrite e0; congr (- _); apply: total_ext => us; rewrite !still.
- by move=> _; rewrite /slope_of S zero; apply: slope_constant => t; rewrite !moving.
- by move=> _; rewrite /slope_of S zero; apply: slope_constant => t; rewrite !moving.
by [].
Qed.
End Node.
(* ------------------------------------------------------------------------------------------------------ the theorem *)

Lemma all_tame k : k \notin rough T given outer by_ at_ T -> tame k.
Proof.
elim/(table_ind T_formed): k => [k F|k n F IH] good vs r rV rA fit; have [kE|/eqP kb] := k =P by_.
- by move: fit; rewrite kE; exact: variable_tame.
- have zero : val en r (Int 0) = 0 by rewrite /meaning /= rational0.
  by rewrite (slope_input at_ vs F kb) zero; apply: slope_constant => t; rewrite !E_input.
- by move: fit; rewrite kE; exact: variable_tame.
have [/and4P[Y A O S] G] := rough_eq T_formed F kb good.
apply: (node_tame F kb Y A _ O S) => // t tn; exact: IH (G t tn).
Qed.

Theorem derivative_right e r : differentiable T given outer by_ at_ e -> ok r -> map r at_ = ats ->
  slope_at (fun t => val (E t) r e) 0 (val en r (derivative T by_ at_ e)).
Proof.
case/andP => Y /allP good rV rA; rewrite /derivative; set k := above _.
have lt v : v \in at_ ++ every_index e -> N.lt v.1 k by exact: above_in.
apply: (slope_same (f := fun t => val (E t) r (place (fixed k) k e))) => [t|].
  by apply: place_fixed => v vf; apply: lt; rewrite mem_cat (free_every vf) orbT.
apply: diff_right => //.
- by apply: place_apart => v va; apply: lt; rewrite mem_cat va.
- by rewrite place_typed // => v; exact: fixed_size.
by move=> t; rewrite numbers_place => /good; exact: all_tame.
Qed.

(* conditions stay true near the point *)
Lemma near_within ns (P : seq nat -> R -> Prop) : (forall xs, within ns xs -> \forall t \near (0 : R), P xs t) ->
  \forall t \near (0 : R), forall xs, within ns xs -> P xs t.
Proof.
elim: ns P => [|n ns IH] P H.
  by have := H [::] isT; apply: filterS => t Pt [|? ?].
suff aux m : (m <= n)%N -> \forall t \near (0 : R), forall x xs, (x < m)%N -> within ns xs -> P (x :: xs) t.
  have := aux n (leqnn n); apply: filterS => t A [|x xs] //= /andP[xn wx]; exact: A.
elim: m => [|m IHm] mn; first by apply: filterE => t x xs.
have A := IHm (ltnW mn).
have B : \forall t \near (0 : R), forall xs, within ns xs -> P (m :: xs) t.
  by apply: IH => xs wx; apply: H; rewrite /= mn.
apply: filterS2 A B => t At Bt x xs; rewrite ltnS leq_eqVlt => /orP[/eqP -> wx|xm wx]; [exact: Bt|exact: At].
Qed.
Lemma still_argument t r n : (forall j, j \in numbers (argument n) -> ~~ depends T by_ j) ->
  val (E t) r (argument n) = val en r (argument n).
Proof. by move=> H; apply: meaning_entries => j jn; apply: (@E_still t j); apply/negbTE; exact: H. Qed.
Lemma condition_near c : carried T given outer by_ at_ c -> condition_in en c ->
  \forall t \near (0 : R), condition_in (E t) c.
Proof.
have still n t : all (fun j => ~~ depends T by_ j) (numbers (argument n)) -> forall r, val (E t) r (argument n) = val en r (argument n).
  by move/allP => H r; exact: still_argument.
have moving k n : find T k = Some n -> disjoint at_ (slots n) && differentiable T given outer by_ at_ (argument n) ->
    forall ys, within (bounds n) ys -> slope_at (fun t => at_slots (E t) n ys) 0 (moves_by n ys).
  move=> F /andP[A /andP[Y /allP G]] ys wy.
  by apply: (slots_move F) => // t tn; exact/all_tame/G.
have start n : at_slots (E 0) n = at_slots en n by apply/funext => ys; apply: meaning_entries => t _; exact: E0.
case: c => k; rewrite /carried /=; case F: (find T k) => [n|]; try (by move=> _ _; apply: filterE);
  case S: (all _ _) => /=.
- by move=> _ H; apply: filterE => t r rV; rewrite still //; exact: H.
- move=> /(moving _ _ F) M H; have : \forall t \near (0 : R), forall ys, within (bounds n) ys -> 0 < at_slots (E t) n ys.
    apply: near_within => ys wy; have D := M ys wy; apply: (near_positive D).
    by rewrite start; apply: H; apply: assigned_valid => //; exact: nowhere_valid.
  apply: filterS => t P r rV; rewrite -(at_slotsE (E t) r (closed_find F)); apply: P; exact: valid_within.
- by move=> _ H; apply: filterE => t r rV; rewrite still //; exact: H.
- move=> /(moving _ _ F) M H; have : \forall t \near (0 : R), forall ys, within (bounds n) ys -> at_slots (E t) n ys != 0.
    apply: near_within => ys wy; have D := M ys wy; apply: (near_nonzero D).
    by rewrite start; apply: H; apply: assigned_valid => //; exact: nowhere_valid.
  apply: filterS => t P r rV; rewrite -(at_slotsE (E t) r (closed_find F)); apply: P; exact: valid_within.
- move=> _ H; apply: filterE => t; rewrite (_ : at_slots (E t) n = at_slots en n) //.
  by apply/funext => ys; exact: still.
case/andP => sq /(moving _ _ F) M; have [bE si] := square_bounds sq.
have := @near_invertible R (map size_of (take (size (slots n))./2 (sizes (slots n)))) 0 (fun t => at_slots (E t) n) (moves_by n).
by rewrite -bE si start => H I; apply: H.
Qed.
Lemma conditions_near : all (carried T given outer by_ at_) given ->
  \forall t \near (0 : R), forall c, List.In c given -> condition_in (E t) c.
Proof.
have aux cs : (forall c, List.In c cs -> condition_in en c) -> all (carried T given outer by_ at_) cs ->
    \forall t \near (0 : R), forall c, List.In c cs -> condition_in (E t) c; last exact: aux.
  elim: cs => [|c cs IH] H; first by move=> _; apply: filterE => t c [].
  case/andP => C Cs; have A := condition_near C (H c (or_introl erefl)).
  have B := IH (fun d I => H d (or_intror I)) Cs; apply: filterS2 A B => t At Bt d /= [<- //|].
  exact: Bt.
Qed.
End Worlds.
